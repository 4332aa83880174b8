// A link has the token after its #, which browsers do not send to servers; it is removed from the history at once.

const field = document.getElementById("token");
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  history.replaceState(null, "", location.pathname + location.search);
  field.value = given;
  field.form.requestSubmit();
}
