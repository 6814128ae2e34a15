"use strict";
// Paper cannot be opened.
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
(() => {
  if (!document.getElementById("motion")) return;
  const data = JSON.parse(document.getElementById("motion").textContent);
  const slider = document.getElementById("when");
  const button = document.getElementById("play");
  const clock = document.getElementById("clock");
  const rivers = data.rivers.map((river, i) => ({
    ...river,
    levels: Uint8Array.from(atob(river.cells), (c) => c.charCodeAt(0)),
    line: document.getElementById("profile-" + i),
    said: document.getElementById("said-" + i),
  }));
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  const sentence = (river, k) => {
    if (river.lead[k] === null) return "No plume at this time.";
    const highest = river.peak[k] === null ? "" : ", highest " + river.peak[k] + " mg/L at mile " + river.at[k];
    return "Plume from mile " + river.trail[k] + " to mile " + river.lead[k] + highest + ".";
  };
  const show = (k) => {
    for (const river of rivers) {
      const n = river.x.length;
      const points = [];
      for (let i = 0; i < n; i++) {
        const level = river.levels[k * n + i];
        const part = level === 0 ? 0 : (level - 1) / 254;
        const height = (data.bottom + (data.top - data.bottom) * part).toFixed(1);
        if (n === 1) points.push(data.left + "," + height, data.right + "," + height);
        else points.push(river.x[i] + "," + height);
      }
      river.line.setAttribute("points", points.join(" "));
      river.said.textContent = sentence(river, k);
    }
    clock.textContent = data.times[k];
    slider.setAttribute("aria-valuetext", data.times[k]);
  };

  let timer = 0;
  const pause = () => {
    clearInterval(timer);
    timer = 0;
    clock.setAttribute("aria-live", "polite");
    button.textContent = "Play";
  };
  const step = () => {
    if (Number(slider.value) >= Number(slider.max)) {
      pause();
      return;
    }
    slider.value = String(Number(slider.value) + 1);
    show(Number(slider.value));
  };
  const play = () => {
    if (Number(slider.value) >= Number(slider.max)) slider.value = "0";
    clock.setAttribute("aria-live", "off"); // a voice cannot keep up
    button.textContent = "Pause";
    timer = setInterval(step, calm.matches ? 1000 : Math.max(40, 12000 / data.times.length));
  };
  const toggle = () => (timer ? pause() : play());

  button.addEventListener("click", toggle);
  slider.addEventListener("input", () => { pause(); show(Number(slider.value)); });
  slider.addEventListener("keydown", (event) => {
    if (event.key === " ") {
      event.preventDefault();
      toggle();
    }
  });
  slider.max = String(data.times.length - 1);
  slider.value = String(data.start);
  document.getElementById("controls").hidden = false;
  show(data.start);
})();
