// A ready link has the token behind its #, which no server is sent and no log has; it leaves the history at once.

const field = document.getElementById("token");
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  history.replaceState(null, "", location.pathname + location.search);
  field.value = given;
  field.form.requestSubmit();
}
