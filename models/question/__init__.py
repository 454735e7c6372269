from . import call_question
from . import tool_call
from . import ai_turn
from . import call_question_sign_in
from . import tool_call_sign_in
