"""What all tests share."""

import os

from hypothesis import HealthCheck, settings

# Commands answer in their own process unless a test is about the shared server, which would outlive it.
os.environ["WINNOW_SERVER"] = "0"

# How long an example takes says how busy the machine is. The first text costs seconds where no cache is left by
# an earlier run.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
