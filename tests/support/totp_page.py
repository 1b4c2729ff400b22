"""A page that asks for the code of an authenticator app, and what such an app knows."""

KEY = "JBSWY3DPEHPK3PXPJBSWY3DP"
# Computes the code by itself, with the browser's own cryptography, and shows what was typed.
PAGE = """<!doctype html><title>Sign in</title><h1>Sign in</h1>
<label>Code <input id=code></label><button onclick=check()>Sign in</button><p role=status></p>
<script>
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
async function codeAt(step) {
  const bits = [..."KEY"].map(c => letters.indexOf(c).toString(2).padStart(5, "0")).join("");
  const bytes = new Uint8Array(bits.match(/.{8}/g).map(b => parseInt(b, 2)));
  const key = await crypto.subtle.importKey(
    "raw", bytes, {name: "HMAC", hash: "SHA-1"}, false, ["sign"]);
  const counter = new DataView(new ArrayBuffer(8));
  counter.setBigUint64(0, BigInt(step));
  const made = new DataView(await crypto.subtle.sign("HMAC", key, counter.buffer));
  const number = made.getUint32(made.getUint8(19) & 15) & 0x7fffffff;
  return String(number % 1e6).padStart(6, "0");
}
async function check() {
  const step = Math.floor(Date.now() / 30000), typed = document.querySelector("#code").value;
  const valid = [await codeAt(step), await codeAt(step - 1)];
  document.querySelector("[role=status]").textContent =
    (valid.includes(typed) ? "Welcome, ana" : "Wrong code") + ", you typed " + typed;
}
</script>""".replace("KEY", KEY)
