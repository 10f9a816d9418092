var e=localStorage.getItem("metatne.theme");(e==='"light"'||e==='"dark"')&&(document.documentElement.dataset.theme=e.slice(1,-1));
