"""Money: prices of models, and amounts of requests."""
