var e=null;try{e=localStorage.getItem("metatne.theme")}catch{}(e==='"light"'||e==='"dark"')&&(document.documentElement.dataset.theme=e.slice(1,-1));
