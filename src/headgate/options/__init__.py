"""Every option of headgate. Flink's own keys keep Flink's names, defaults and meaning; ours begin with `headgate.`."""

from headgate.options.checkpoints import *  # noqa: F403
from headgate.options.code import *  # noqa: F403
from headgate.options.deployment import *  # noqa: F403
from headgate.options.pipeline import *  # noqa: F403
from headgate.options.resolution import REGISTRY as REGISTRY
from headgate.options.resolution import resolve as resolve
from headgate.options.rest import *  # noqa: F403
from headgate.options.restarts import *  # noqa: F403
from headgate.options.scheduler import *  # noqa: F403
from headgate.options.web import *  # noqa: F403
