from . import base
from . import discuss_channel
from . import ir_actions_report
from . import ir_attachment
from . import ir_http
from . import ir_sequence
from . import mail_thread
from . import res_users
