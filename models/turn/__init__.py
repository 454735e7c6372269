from . import ai_turn
from . import ai_turn_request
from . import ai_turn_view
from . import ai_turn_event
from . import tool_call
from . import tool_call_sum
from . import call_question
from . import answer_rating
