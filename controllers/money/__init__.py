from . import usage
