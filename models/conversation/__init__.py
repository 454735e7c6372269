from . import conversation_folder
from . import conversation_share
from . import decision
from . import discuss_channel
from . import discuss_channel_view
from . import discuss_channel_discuss
from . import saved_prompt
