import { withBase } from "vitepress";
import DefaultTheme from "vitepress/theme";
import { h } from "vue";
import "./style.css";

/** The theme's own page for addresses that do not exist has neither a heading nor a main part. */
const notFound = () =>
  h("main", { class: "vp-doc not-found" }, [
    h("h1", "This page does not exist"),
    h("p", ["The search may find what you look for. ", h("a", { href: withBase("/") }, "Go to the first page")]),
  ]);

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { "not-found": notFound }),
};
