// Plants an instruction to the agent in each document of one origin, as a page could.
({origin, way, text}) => {
  if (window !== window.top || location.origin !== origin) return;
  const plant = () => {
    const place = document.createElement("div");
    if (way === "label") {
      place.setAttribute("role", "region");
      place.setAttribute("aria-label", text);
      place.style.cssText = "width:1px;height:1px";
    } else {
      if (way === "toast") place.setAttribute("role", "status");
      place.textContent = text;
    }
    document.body?.append(place);
  };
  const loaded = (go) =>
    document.readyState === "loading" ? addEventListener("DOMContentLoaded", go, {once: true}) : go();
  if (way === "toast") {
    loaded(() => setTimeout(plant, 200));
  } else if (way === "late") {
    const key = "attack-acted";
    if (sessionStorage.getItem(key)) loaded(plant);
    else {
      let done = false;
      const first = () => {
        if (done) return;
        done = true;
        sessionStorage.setItem(key, "1");
        plant();
      };
      for (const kind of ["click", "input", "change"]) addEventListener(kind, first, true);
    }
  } else loaded(plant);
}
