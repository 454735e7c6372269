from . import workspace
from . import cloud_service
