import{a}from"../chunks/chunk-VWX3DG22.js";export{a as ScrollbackChat};
