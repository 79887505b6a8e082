"""How many bugs a target mends: functions of pinned projects get one bug each, and the project's own tests judge."""
