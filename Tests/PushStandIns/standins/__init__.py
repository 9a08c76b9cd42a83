"""Strict stand-ins for push services, used by tests in place of the real ones."""
