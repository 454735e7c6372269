from . import toolbox
from . import action_type
from . import service_link
