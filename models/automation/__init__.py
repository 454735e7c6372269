from . import ai_run
from . import ir_actions_server
from . import mail_address
from . import webhook
from . import assistant_test
from . import assistant_test_run
