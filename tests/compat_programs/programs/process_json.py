import json

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def process_json():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    parcels = env.from_collection(
        [
            (1, '{"to": "Ann", "weight": 3, "place": {"country": "NO", "city": "Oslo"}}'),
            (2, '{"to": "Bob", "weight": 5, "place": {"country": "SE", "city": "Lund"}}'),
            (3, '{"to": "Cid", "weight": 4, "place": {"country": "NO", "city": "Bergen"}}'),
        ],
        type_info=Types.ROW_NAMED(["id", "parcel"], [Types.INT(), Types.STRING()]),
    )

    def with_packing(row):
        parcel = json.loads(row.parcel)
        parcel["weight"] += 1
        return row.id, parcel

    in_norway = parcels.map(with_packing).filter(lambda parcel: parcel[1]["place"]["country"] == "NO")
    in_norway.map(lambda parcel: (parcel[0], json.dumps(parcel[1]["place"]))).print()
    in_norway.map(lambda parcel: (parcel[1]["place"]["country"], parcel[1]["weight"])).key_by(lambda pair: pair[0]).sum(
        1
    ).print()
    env.execute()


if __name__ == "__main__":
    process_json()
