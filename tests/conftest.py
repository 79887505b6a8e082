"""What all tests share."""

from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is. The first text costs seconds where no cache is left by
# an earlier run.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
