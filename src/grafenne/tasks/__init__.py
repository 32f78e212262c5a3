"""What is to be predicted; a task owns the labels, the loss and the metrics."""
