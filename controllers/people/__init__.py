from . import folders
from . import personal_data
