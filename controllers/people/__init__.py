from . import folders
from . import memory
from . import notifications
from . import personal_data
from . import saved_prompts
from . import shares
