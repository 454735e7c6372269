from . import price
from . import cost
from . import tool_call_report
from . import overview
from . import audit_entry
from . import budget
from . import personal_data
