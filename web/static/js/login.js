// A link has a one-time code, or the token, after its #, which browsers do not send to servers; it is removed from the history at
// once. Only this script redeems it, by a POST, and not while the browser renders the page in advance.

const given = new URLSearchParams(location.hash.slice(1));

function signIn() {
  history.replaceState(null, "", location.pathname + location.search);
  const form = document.getElementById("sign-in");
  for (const name of ["code", "token"]) {
    if (given.has(name)) form.elements[name].value = given.get(name);
  }
  form.submit(); // without its check that a token is given
}

if (given.has("code") || given.has("token")) {
  if (document.prerendering) document.addEventListener("prerenderingchange", signIn, { once: true });
  else signIn();
}
