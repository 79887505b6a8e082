"""From evidence about units to the spans the target sees."""
