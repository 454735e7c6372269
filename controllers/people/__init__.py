from . import personal_data
