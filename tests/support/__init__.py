"""What tests share: homes, commands, workers, servers, builders for jobs. No tests in here."""
