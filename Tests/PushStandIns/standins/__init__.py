"""Strict stand-ins for push services, for tests."""
