from . import action_try
