// The page is whole without this script, which adds: rows that are filtered while one types, buttons that copy, the key / for
// the search, and changes that appear without a reload.
"use strict";
const served = document.documentElement.dataset.served !== undefined;
const search = document.querySelector("#q");

let rows, groups; // what a search looks at; it is found anew when the page has changed

function show(element, shown) {
  if (element.hidden === shown) element.hidden = !shown;
  return shown;
}

function filter(text) {
  const wanted = text.trim().toLowerCase();
  let shown = 0;
  rows ??= [...document.querySelectorAll("main [data-row]")];
  groups ??= [...document.querySelectorAll("main [data-group]")];
  for (const row of rows) {
    row.text ??= row.textContent.toLowerCase();
    if (show(row, wanted === "" || row.text.includes(wanted))) shown++;
  }
  for (const group of groups) {
    group.name ??= (group.querySelector("summary") ?? group).textContent.toLowerCase();
    group.rows ??= [...group.querySelectorAll("[data-row]")];
    const named = wanted !== "" && group.name.includes(wanted);
    if (named) for (const row of group.rows) show(row, true);
    if (show(group, wanted === "" || named || group.rows.some(row => !row.hidden))) shown++;
    if (group.dataset.group === "open" && group.tagName === "DETAILS" && wanted !== "") group.open = !group.hidden && shown < 400;
  }
  document.querySelector("#found").textContent = wanted === "" ? "" : shown === 0 ? "Nothing matches. Press Enter to search all views." : "";
}

function remember() {
  const text = encodeURIComponent(search.value);
  if (!served) { history.replaceState(null, "", "#q=" + text); return; }
  const url = new URL(location);
  if (search.value) url.searchParams.set("q", search.value); else url.searchParams.delete("q");
  history.replaceState(null, "", url);
}

function addCopies() {
  if (!navigator.clipboard) return;
  for (const text of document.querySelectorAll("main [data-copy]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy " + text.textContent);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    text.after(button);
  }
}

let told; // the version that the command has now

async function refresh(version) {
  told = version;
  const open = new Map([...document.querySelectorAll("main details[id]")].map(d => [d.id, d.open]));
  const answer = await fetch(location.href, {headers: {Accept: "text/html"}}).catch(() => undefined);
  if (!answer?.ok) return; // the command tells its version again when it is back
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const main = page.querySelector("main");
  if (version !== told || !main || document.activeElement?.closest("main form")) return;
  document.querySelector("main").replaceChildren(...main.childNodes);
  rows = groups = undefined;
  for (const d of document.querySelectorAll("main details[id]")) if (open.has(d.id)) d.open = open.get(d.id);
  addCopies();
  if (search.value) filter(search.value);
  document.documentElement.dataset.served = page.documentElement.dataset.served;
  document.querySelector("#news").textContent = "Updated at " + new Date().toLocaleTimeString() + ".";
}

search.addEventListener("input", () => { filter(search.value); remember(); });
if (!served) {
  search.form.addEventListener("submit", event => event.preventDefault());
  if (location.hash.startsWith("#q=")) search.value = decodeURIComponent(location.hash.slice(3));
  else if (location.hash) document.querySelector(location.hash)?.closest("details")?.setAttribute("open", "");
}
if (search.value && !served) filter(search.value);
addEventListener("keydown", event => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, textarea, select")) return;
  event.preventDefault();
  search.focus();
});
addCopies();
if (served) {
  new EventSource("/changes").addEventListener("message", event => {
    if (event.data !== document.documentElement.dataset.served) refresh(event.data);
  });
}
