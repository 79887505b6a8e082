"""Answers of targets, as the product gives them, judged by rule: functions written out, and explanations."""
