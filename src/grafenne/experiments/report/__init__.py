"""The report: the paper's tables side by side with ours, on one page."""

from grafenne.experiments.report.markdown import main_table, report_markdown
from grafenne.experiments.report.page import report_html
from grafenne.experiments.report.runs import Results, Run, read_results

__all__ = ["Results", "Run", "main_table", "read_results", "report_html", "report_markdown"]
