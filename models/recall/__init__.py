from . import toolbox
from . import toolbox_operation
from . import knowledge_network
from . import action_type
from . import action_type_recall
from . import action_parameter
from . import service_link
