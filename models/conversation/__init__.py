from . import conversation_folder
from . import decision
from . import discuss_channel
from . import discuss_channel_view
from . import discuss_channel_discuss
from . import discuss_channel_member
from . import mail_message
from . import res_partner
