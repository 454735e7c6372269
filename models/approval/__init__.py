from . import callable_mixin
from . import approval_rule
from . import tool_grant
from . import person_rule
