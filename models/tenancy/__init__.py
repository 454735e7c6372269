from . import workspace
from . import workspace_access
from . import cloud_service
