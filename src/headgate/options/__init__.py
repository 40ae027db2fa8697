"""Every option of headgate. Flink's own keys keep Flink's names, defaults and meaning; ours begin with `headgate.`."""

from headgate.options.backends import *  # noqa: F403
from headgate.options.checkpoints import *  # noqa: F403
from headgate.options.code import *  # noqa: F403
from headgate.options.job import *  # noqa: F403
from headgate.options.monitoring import *  # noqa: F403  # noqa: F403  # noqa: F403
from headgate.options.network import *  # noqa: F403
from headgate.options.records import *  # noqa: F403
from headgate.options.recovery import *  # noqa: F403
from headgate.options.resolution import GROUPS as GROUPS
from headgate.options.resolution import REGISTRY as REGISTRY
from headgate.options.resolution import resolve as resolve
from headgate.options.restarts import *  # noqa: F403
from headgate.options.slots import *  # noqa: F403
from headgate.options.snapshots import *  # noqa: F403
