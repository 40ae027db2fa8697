"""`DataTypes`: other names of the types in `headgate.common.Types`, with PyFlink's lengths and precisions."""

from __future__ import annotations

from collections.abc import Sequence

from headgate import unsupported
from headgate.types.row import Row, RowKind
from headgate.types.sql_types import DECIMAL_DIGITS_MAX
from headgate.types.typeinfo import RowTypeInfo, TypeInformation, Types

__all__ = ["DataTypes", "Row", "RowKind"]


class DataTypes:
    """Each function returns a type of `Types`. Lengths of texts and precisions of times are not kept.

    >>> DataTypes.ROW([DataTypes.FIELD("id", DataTypes.BIGINT()), DataTypes.FIELD("name", DataTypes.STRING())])
    RowTypeInfo(id: Long, name: String)
    """

    @staticmethod
    def NULL() -> TypeInformation:
        return Types.SQL_NULL()

    @staticmethod
    def STRING(nullable: bool = True) -> TypeInformation:
        return Types.STRING()

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> TypeInformation:
        return Types.STRING()

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> TypeInformation:
        return Types.STRING()

    @staticmethod
    def BYTES(nullable: bool = True) -> TypeInformation:
        return Types.PRIMITIVE_ARRAY(Types.BYTE())

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> TypeInformation:
        return DataTypes.BYTES()

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> TypeInformation:
        return DataTypes.BYTES()

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> TypeInformation:
        return Types.BOOLEAN()

    @staticmethod
    def TINYINT(nullable: bool = True) -> TypeInformation:
        return Types.BYTE()

    @staticmethod
    def SMALLINT(nullable: bool = True) -> TypeInformation:
        return Types.SHORT()

    @staticmethod
    def INT(nullable: bool = True) -> TypeInformation:
        return Types.INT()

    @staticmethod
    def BIGINT(nullable: bool = True) -> TypeInformation:
        return Types.LONG()

    @staticmethod
    def FLOAT(nullable: bool = True) -> TypeInformation:
        return Types.FLOAT()

    @staticmethod
    def DOUBLE(nullable: bool = True) -> TypeInformation:
        return Types.DOUBLE()

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> TypeInformation:
        return Types.SQL_DECIMAL(min(precision, DECIMAL_DIGITS_MAX), scale)

    @staticmethod
    def DATE(nullable: bool = True) -> TypeInformation:
        return Types.SQL_DATE()

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> TypeInformation:
        return Types.SQL_TIME()

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> TypeInformation:
        return Types.SQL_TIMESTAMP()

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> TypeInformation:
        return Types.INSTANT()

    @staticmethod
    def ARRAY(element_type: TypeInformation, nullable: bool = True) -> TypeInformation:
        return Types.LIST(element_type)

    @staticmethod
    def MAP(key_type: TypeInformation, value_type: TypeInformation, nullable: bool = True) -> TypeInformation:
        return Types.MAP(key_type, value_type)

    @staticmethod
    def FIELD(name: str, data_type: TypeInformation, description: str | None = None) -> tuple[str, TypeInformation]:
        """Return a field of a row."""
        return name, data_type

    @staticmethod
    def ROW(row_fields: Sequence[tuple[str, TypeInformation]] = (), nullable: bool = True) -> RowTypeInfo:
        return RowTypeInfo([kind for _, kind in row_fields], [name for name, _ in row_fields])


unsupported.guard(__name__, globals())
