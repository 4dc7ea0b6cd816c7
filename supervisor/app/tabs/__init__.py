"""The tabs of a ticket's screen, one module each. They read what they show when they are looked at."""
