from . import tool_call_sum
from . import tool_call_report
