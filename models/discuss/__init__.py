from . import mail_message
from . import ai_turn
from . import tool_call
from . import discuss_channel
from . import ai_turn_post
from . import res_partner
