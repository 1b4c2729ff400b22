/* Exchange the token after `#` for a cookie, and remove it from the address bar and the history. */
const token = new URLSearchParams(location.hash.slice(1)).get("token");
if (token) {
  history.replaceState(null, "", location.pathname + location.search);
  const answer = await fetch("/api/session", {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
  });
  if (answer.ok) location.reload();
  else document.getElementById("problem").hidden = false;
}
