from . import tool_call_report
from . import overview
