from . import approval_rule
from . import tool_grant
from . import tool_call
from . import person_rule
from . import ai_turn
