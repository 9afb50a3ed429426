/** People whom tests give to names as contacts. */
export const ada = {
  first_name: "Ada",
  last_name: "Quillfeather",
  email: "ada@quillfeather.example",
  phone: "+44.2079460001",
  address: "Analytical Mews 7",
  postal_code: "EC1A 1BB",
  city: "Londinium",
  country_code: "GB",
};

export const grace = { ...ada, first_name: "Grace", email: "grace@quillfeather.example" };
