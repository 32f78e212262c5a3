"""Feature graphs: what they hold, where they come from, and how they change."""
