from . import ai_turn
from . import ai_turn_request
from . import ai_turn_view
from . import tool_call
from . import tool_call_sum
from . import call_question
from . import memory
from . import answer_rating
