// Before anything is drawn, so that nothing flashes. app.js changes it later.
try {
  const chosen = localStorage.getItem("queuectl-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // No storage: as the system has it.
}
